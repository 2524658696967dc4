import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.Disconnect;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** A session, through Curator or (for WriteLock) through the plain client below it. */
final class Session implements AutoCloseable {
    private static final int CONNECTION_TIMEOUT_MS = 15_000;

    private final CuratorFramework curator;

    Session(String servers, int timeoutMs) throws Exception {
        curator = CuratorFrameworkFactory.newClient(
                servers, timeoutMs, CONNECTION_TIMEOUT_MS, new ExponentialBackoffRetry(50, 10, 2_000));
        curator.start();
        if (!curator.blockUntilConnected(60, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no connection to " + servers);
        }
    }

    String id() throws Exception {
        return "0x" + Long.toHexString(zookeeper().getSessionId());
    }

    /** The recipes that this program knows, by name. An id is what elections show; leases are for a semaphore. */
    Recipe recipe(String name, String path, String id, int leases) throws Exception {
        switch (name) {
            case "mutex":
                return CuratorLocks.mutex(curator, path);
            case "revocable":
                return CuratorLocks.revocable(curator, path);
            case "revoker":
                return CuratorLocks.revoker(curator, path);
            case "read":
                return CuratorLocks.read(curator, path);
            case "write":
                return CuratorLocks.write(curator, path);
            case "downgrade":
                return CuratorLocks.downgrade(curator, path);
            case "semaphore":
                return CuratorLocks.semaphore(curator, path, leases);
            case "semaphore-mutex":
                return CuratorLocks.semaphoreMutex(curator, path);
            case "multi":
                return CuratorLocks.multi(curator, Arrays.asList(path.split(",")));
            case "latch":
                return CuratorLeaders.latch(curator, path, id);
            case "selector":
                return CuratorLeaders.selector(curator, path, id, false);
            case "lasting-selector":
                return CuratorLeaders.selector(curator, path, id, true);
            case "write-lock":
                return new ZooKeeperWriteLock(zookeeper(), path);
            default:
                throw new IllegalArgumentException("no such recipe: " + name);
        }
    }

    /** The check of who is inside of a lock, which is not the lock's own. */
    Inside inside(String path, String recipe) throws Exception {
        return new Inside(zookeeper(), path, recipe);
    }

    /** What is run whenever the connection is lost, and so what is held may be. */
    void onLoss(Runnable listener) {
        curator.getConnectionStateListenable().addListener((client, state) -> {
            if (!state.isConnected()) {
                listener.run();
            }
        });
    }

    /** The fencing token of a holder: its node's czxid. */
    long token(String node) throws Exception {
        Stat stat = zookeeper().exists(node, false);
        if (stat == null) {
            throw new IllegalStateException(node + " holds without a node");
        }
        return stat.getCzxid();
    }

    /** Closes the connection, and leaves the session to expire. */
    void abort() {
        try {
            Disconnect.client(zookeeper());
        } catch (Exception closed) {
            // It has no connection any more.
        }
    }

    @Override
    public void close() {
        curator.close();
    }

    private ZooKeeper zookeeper() throws Exception {
        return curator.getZookeeperClient().getZooKeeper();
    }
}
