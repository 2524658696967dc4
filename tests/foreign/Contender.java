import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A thread that acquires, holds until it is told to release, and releases. */
final class Contender {
    /** How long an answer may take before it is an error. */
    private static final int PATIENCE_SECONDS = 60;

    private final Recipe recipe;
    private final CompletableFuture<String> held = new CompletableFuture<>();
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private final CountDownLatch mayRelease = new CountDownLatch(1);
    private final Thread thread = new Thread(this::run);

    private Contender(Recipe recipe) {
        this.recipe = recipe;
    }

    static Contender start(Recipe recipe) {
        Contender contender = new Contender(recipe);
        contender.thread.setDaemon(true);
        contender.thread.start();
        return contender;
    }

    Recipe recipe() {
        return recipe;
    }

    String awaitHeld() throws Exception {
        return held.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    void release() throws Exception {
        mayRelease.countDown();
        ended.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    void abandon() throws Exception {
        thread.interrupt();
        recipe.abandon();
        thread.join(TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
    }

    void interrupt() {
        thread.interrupt();
    }

    private void run() {
        try {
            held.complete(recipe.acquire());
            mayRelease.await();
            recipe.release();
            ended.complete(null);
        } catch (Throwable failure) {
            held.completeExceptionally(failure);
            ended.completeExceptionally(failure);
        }
    }
}
