import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** Threads that contend for one lock again and again, each with its own session. */
final class Churn {
    private static final int SESSION_TIMEOUT_MS = 30_000;

    private final List<Thread> threads = new ArrayList<>();
    private final AtomicInteger acquisitions = new AtomicInteger();
    private final AtomicReference<Exception> failure = new AtomicReference<>();

    static Churn start(String servers, String recipe, String path, int threads, int rounds) {
        Churn churn = new Churn();
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> churn.run(servers, recipe, path, rounds));
            thread.setDaemon(true);
            churn.threads.add(thread);
            thread.start();
        }
        return churn;
    }

    /** Waits for the end; gives the number of acquisitions. */
    int join() throws Exception {
        for (Thread thread : threads) {
            thread.join();
        }
        if (failure.get() != null) {
            throw failure.get();
        }
        return acquisitions.get();
    }

    private void run(String servers, String recipe, String path, int rounds) {
        try (Session session = new Session(servers, SESSION_TIMEOUT_MS)) {
            for (int round = 0; round < rounds; round++) {
                Recipe contender = session.recipe(recipe, path, "churn", 1);
                contender.acquire();
                acquisitions.incrementAndGet();
                contender.release();
            }
        } catch (Exception e) {
            failure.set(e);
        }
    }
}
