import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.leader.Participant;

/** Curator's elections; their queues are told as the participants' ids. */
final class CuratorLeaders {
    private CuratorLeaders() {}

    static Recipe latch(CuratorFramework curator, String path, String id) {
        LeaderLatch latch = new LeaderLatch(curator, path, id);
        return new Recipe() {
            @Override
            public String acquire() throws Exception {
                latch.start();
                latch.await();
                return CuratorLocks.names(List.of(latch.getOurPath())).get(0);
            }

            @Override
            public void release() throws Exception {
                latch.close();
            }

            @Override
            public void abandon() throws Exception {
                latch.close();
            }

            @Override
            public boolean holds() {
                return latch.hasLeadership();
            }

            @Override
            public List<String> order() throws Exception {
                return ids(latch.getParticipants());
            }
        };
    }

    /** A selector that leads once, or that queues again whenever it has lost its leadership. */
    static Recipe selector(CuratorFramework curator, String path, String id, boolean again) {
        CountDownLatch leads = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        LeaderSelector selector = new LeaderSelector(curator, path, new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework client) throws Exception {
                leads.countDown();
                mayEnd.await();
            }
        });
        selector.setId(id);
        if (again) {
            selector.autoRequeue();
        }
        return new Recipe() {
            @Override
            public String acquire() throws Exception {
                selector.start();
                leads.await();
                return "-";
            }

            @Override
            public void release() {
                mayEnd.countDown();
                selector.close();
            }

            @Override
            public void abandon() {
                selector.close();
            }

            @Override
            public boolean holds() {
                return selector.hasLeadership();
            }

            @Override
            public List<String> order() throws Exception {
                return ids(selector.getParticipants());
            }
        };
    }

    private static List<String> ids(Collection<Participant> participants) {
        List<String> ids = new ArrayList<>();
        for (Participant participant : participants) {
            ids.add(participant.getId());
        }
        return ids;
    }
}
