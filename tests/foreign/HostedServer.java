import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.zookeeper.metrics.MetricsProvider;
import org.apache.zookeeper.metrics.impl.DefaultMetricsProvider;
import org.apache.zookeeper.server.ServerConfig;
import org.apache.zookeeper.server.ZooKeeperServerMain;

/** A standalone server beside others in this JVM, with the data in a folder of its own. It can be stopped and started again. */
final class HostedServer {
    private final Path folder;
    private Main main;
    private Thread thread;

    HostedServer(Path folder) {
        this.folder = folder;
    }

    /**
     * The threads of one server. ZooKeeper keeps one set of figures a JVM; a server is known by the group of the thread
     * that counts, which its threads inherit.
     */
    static final class Group extends ThreadGroup {
        final MetricsProvider figures = new DefaultMetricsProvider();

        Group(String name) {
            super(name);
        }
    }

    private static final class Main extends ZooKeeperServerMain {
        final CompletableFuture<Void> started = new CompletableFuture<>();

        @Override
        protected void serverStarted() {
            started.complete(null);
        }
    }

    /** Returns when it serves: null, or why it does not. */
    String start() {
        stop();
        Main next = new Main();
        Runnable serve = () -> {
            try {
                ServerConfig config = new ServerConfig();
                // The parser sets system properties.
                synchronized (HostedServer.class) {
                    config.parse(folder.resolve("zoo.cfg").toString());
                }
                next.runFromConfig(config);
                next.started.completeExceptionally(new IllegalStateException("it ended"));
            } catch (Throwable failure) {
                next.started.completeExceptionally(failure);
            }
        };
        main = next;
        thread = new Thread(new Group(folder.getFileName().toString()), serve);
        thread.start();
        try {
            next.started.get();
            return null;
        } catch (ExecutionException failure) {
            return failure.getCause().toString().replace('\n', ' ');
        } catch (InterruptedException interrupted) {
            return "interrupted";
        }
    }

    /** Closes the connections, as the end of a process does, and keeps sessions and data. */
    void stop() {
        if (main == null) {
            return;
        }
        if (!main.started.isCompletedExceptionally()) {
            main.close();
        }
        try {
            thread.join();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        main = null;
    }
}
