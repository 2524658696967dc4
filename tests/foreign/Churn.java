import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/** Threads that contend for one lock again and again, each with its own session, all from the same moment. */
final class Churn {
    private static final int SESSION_TIMEOUT_MS = 30_000;

    private final List<Thread> threads = new ArrayList<>();
    private final Queue<Session> sessions = new ConcurrentLinkedQueue<>();
    private final AtomicInteger acquisitions = new AtomicInteger();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final CountDownLatch connecting;
    private final CountDownLatch contending;
    private final String recipe;
    private final String path;
    private final int rounds;
    private final boolean checked;
    /** When the first began; 0 before. */
    private final AtomicLong beganNanos = new AtomicLong();
    private volatile long endedNanos;

    private Churn(String recipe, String path, int threads, int rounds, boolean checked) {
        this.recipe = recipe;
        this.path = path;
        this.rounds = rounds;
        this.checked = checked;
        connecting = new CountDownLatch(threads);
        contending = new CountDownLatch(threads);
    }

    static Churn start(String servers, String recipe, String path, int threads, int rounds, boolean checked) {
        Churn churn = new Churn(recipe, path, threads, rounds, checked);
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> churn.run(servers));
            thread.setDaemon(true);
            churn.threads.add(thread);
            thread.start();
        }
        return churn;
    }

    /** Waits for the end; gives the number of acquisitions, and how many milliseconds they took. */
    String join() throws Exception {
        for (Thread thread : threads) {
            thread.join();
        }
        if (failure.get() != null) {
            throw new Exception(failure.get());
        }
        return acquisitions.get() + " " + TimeUnit.NANOSECONDS.toMillis(endedNanos - beganNanos.get());
    }

    /** Ends it without a word to the servers. */
    void abort() {
        failure.compareAndSet(null, new InterruptedException());
        sessions.forEach(Session::abort);
        threads.forEach(Thread::interrupt);
    }

    private void run(String servers) {
        try (Session session = connect(servers)) {
            sessions.add(session);
            connecting.await();
            beganNanos.compareAndSet(0, System.nanoTime());
            for (int round = 0; round < rounds && failure.get() == null; round++) {
                turn(session);
            }
            endedNanos = System.nanoTime();
            // Sessions end when nobody contends any more: their end is no part of what is measured.
            contending.countDown();
            contending.await();
        } catch (Throwable e) {
            failure.compareAndSet(null, e);
            contending.countDown();
        }
    }

    private Session connect(String servers) throws Exception {
        try {
            return new Session(servers, SESSION_TIMEOUT_MS);
        } finally {
            connecting.countDown();
        }
    }

    private void turn(Session session) throws Exception {
        Recipe contender = session.recipe(recipe, path, "churn", 1);
        String node = contender.acquire();
        acquisitions.incrementAndGet();
        if (checked) {
            Inside inside = session.inside(path, recipe);
            inside.enter(node);
            if (!contender.holds()) {
                throw new IllegalStateException(node + " does not hold what it acquired");
            }
            inside.leave();
        }
        contender.release();
    }
}
