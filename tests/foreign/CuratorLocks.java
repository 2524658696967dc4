import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;

/** Curator's locks. */
final class CuratorLocks {
    private CuratorLocks() {}

    /** Where a lock's queue is read. */
    private interface Participants {
        Collection<String> get() throws Exception;
    }

    static Recipe mutex(CuratorFramework curator, String path) {
        InterProcessMutex mutex = new InterProcessMutex(curator, path);
        return new Mutex(mutex, mutex::getParticipantNodes);
    }

    /** A mutex whose holder hears when it is asked to release, and from then on says that it no longer wants to hold. */
    static Recipe revocable(CuratorFramework curator, String path) {
        InterProcessMutex mutex = new InterProcessMutex(curator, path);
        return new Mutex(mutex, mutex::getParticipantNodes) {
            private volatile boolean asked;

            @Override
            public String acquire() throws Exception {
                mutex.makeRevocable(ignored -> asked = true);
                return super.acquire();
            }

            @Override
            public boolean holds() {
                return super.holds() && !asked;
            }
        };
    }

    /** Contends for nothing: where others acquire, it asks the owner of a node to release. */
    static Recipe revoker(CuratorFramework curator, String node) {
        return new Recipe() {
            @Override
            public String acquire() throws Exception {
                Revoker.attemptRevoke(curator, node);
                return "-";
            }

            @Override
            public void release() {}

            @Override
            public boolean holds() {
                return true;
            }

            @Override
            public List<String> order() {
                return List.of();
            }
        };
    }

    static Recipe read(CuratorFramework curator, String path) {
        InterProcessReadWriteLock both = new InterProcessReadWriteLock(curator, path);
        return new Mutex(both.readLock(), () -> participants(both));
    }

    static Recipe write(CuratorFramework curator, String path) {
        InterProcessReadWriteLock both = new InterProcessReadWriteLock(curator, path);
        return new Mutex(both.writeLock(), () -> participants(both));
    }

    /** A read lock taken under one's own write lock: two nodes of one session, which hold both. */
    static Recipe downgrade(CuratorFramework curator, String path) {
        InterProcessReadWriteLock both = new InterProcessReadWriteLock(curator, path);
        return new Mutex(both.readLock(), () -> participants(both)) {
            @Override
            public String acquire() throws Exception {
                both.writeLock().acquire();
                return super.acquire();
            }

            @Override
            public void release() throws Exception {
                super.release();
                both.writeLock().release();
            }
        };
    }

    static Recipe semaphoreMutex(CuratorFramework curator, String path) {
        InterProcessSemaphoreV2 leases = new InterProcessSemaphoreV2(curator, path, 1);
        return new Plain(new InterProcessSemaphoreMutex(curator, path), leases::getParticipantNodes);
    }

    static Recipe multi(CuratorFramework curator, List<String> paths) {
        return new Plain(new InterProcessMultiLock(curator, paths), () -> {
            List<String> all = new ArrayList<>();
            for (String path : paths) {
                all.addAll(new InterProcessMutex(curator, path).getParticipantNodes());
            }
            return all;
        });
    }

    static Recipe semaphore(CuratorFramework curator, String path, int leases) {
        InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(curator, path, leases);
        return new Recipe() {
            private volatile Lease lease;

            @Override
            public String acquire() throws Exception {
                lease = semaphore.acquire();
                return lease.getNodeName();
            }

            @Override
            public void release() {
                semaphore.returnLease(lease);
                lease = null;
            }

            @Override
            public boolean holds() {
                return lease != null;
            }

            @Override
            public List<String> order() throws Exception {
                return names(semaphore.getParticipantNodes());
            }
        };
    }

    /** The library shows readers and writers apart; they stand in one queue, by number. */
    private static List<String> participants(InterProcessReadWriteLock both) throws Exception {
        List<String> all = new ArrayList<>(both.readLock().getParticipantNodes());
        all.addAll(both.writeLock().getParticipantNodes());
        all.sort(Comparator.comparing(path -> path.substring(path.length() - 10)));
        return all;
    }

    /** The last names of paths. */
    static List<String> names(Collection<String> paths) {
        List<String> names = new ArrayList<>();
        for (String path : paths) {
            names.add(path.substring(path.lastIndexOf('/') + 1));
        }
        return names;
    }

    private static class Plain implements Recipe {
        private final InterProcessLock lock;
        private final Participants participants;

        Plain(InterProcessLock lock, Participants participants) {
            this.lock = lock;
            this.participants = participants;
        }

        @Override
        public String acquire() throws Exception {
            lock.acquire();
            return "-";
        }

        @Override
        public void release() throws Exception {
            lock.release();
        }

        @Override
        public boolean holds() {
            return lock.isAcquiredInThisProcess();
        }

        @Override
        public List<String> order() throws Exception {
            return names(participants.get());
        }
    }

    private static class Mutex extends Plain {
        private final InterProcessMutex mutex;

        Mutex(InterProcessMutex mutex, Participants participants) {
            super(mutex, participants);
            this.mutex = mutex;
        }

        @Override
        public String acquire() throws Exception {
            mutex.acquire();
            // The library shows a mutex's node to subclasses only.
            Method path = InterProcessMutex.class.getDeclaredMethod("getLockPath");
            path.setAccessible(true);
            return names(List.of((String) path.invoke(mutex))).get(0);
        }
    }
}
