import java.util.List;

/** One contender of one lock, as a library offers it. The same thread acquires and releases. */
interface Recipe {
    /** Waits until it holds; gives the name of its node, or "-" where the library does not tell. */
    String acquire() throws Exception;

    /** Gives back what it holds. */
    void release() throws Exception;

    /** Stops waiting, where an interrupt of the waiting thread does not suffice. */
    default void abandon() throws Exception {}

    /** Whether the library says that it holds. */
    boolean holds() throws Exception;

    /** Everybody in the queue, first come first, in the library's own terms: names of nodes, or identifiers. */
    List<String> order() throws Exception;
}
