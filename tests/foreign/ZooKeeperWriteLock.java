import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/** The WriteLock that comes with ZooKeeper. It waits by a callback and makes only its own parent, not that one's. */
final class ZooKeeperWriteLock implements Recipe {
    private static final int ASK_AGAIN_MS = 500;

    private final ZooKeeper zookeeper;
    private final WriteLock lock;
    private final CountDownLatch acquired = new CountDownLatch(1);

    ZooKeeperWriteLock(ZooKeeper zookeeper, String path) {
        this.zookeeper = zookeeper;
        lock = new WriteLock(zookeeper, path, ZooDefs.Ids.OPEN_ACL_UNSAFE, new LockListener() {
            @Override
            public void lockAcquired() {
                acquired.countDown();
            }

            @Override
            public void lockReleased() {}
        });
    }

    @Override
    public String acquire() throws Exception {
        lock.lock();
        // It waits for nothing when its predecessor goes just before it is watched, so it is asked again.
        while (!acquired.await(ASK_AGAIN_MS, TimeUnit.MILLISECONDS)) {
            lock.lock();
        }
        return CuratorLocks.names(List.of(lock.getId())).get(0);
    }

    /** Closes it in the same moment: a late event would make it contend anew, for nobody. */
    @Override
    public void release() {
        synchronized (lock) {
            lock.unlock();
            lock.close();
        }
    }

    @Override
    public void abandon() {
        release();
    }

    @Override
    public boolean holds() {
        return lock.isOwner();
    }

    /** The library shows no queue; it orders its nodes by their numbers. */
    @Override
    public List<String> order() throws Exception {
        List<String> names = new ArrayList<>(zookeeper.getChildren(lock.getDir(), false));
        names.sort(Comparator.comparingInt(name -> Integer.parseInt(name.substring(name.lastIndexOf('-') + 1))));
        return names;
    }
}
