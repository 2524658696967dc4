import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/**
 * Checks by nodes of its own, below PATH-inside, that nobody is inside of a lock who must not be, and writes below
 * PATH-record who was, in turn: the holder's node and its czxid. The test makes both parents.
 */
final class Inside {
    private final ZooKeeper zookeeper;
    private final String path;
    private final String kind;
    private String own;

    Inside(ZooKeeper zookeeper, String path, String recipe) {
        this.zookeeper = zookeeper;
        this.path = path;
        kind = recipe.equals("read") ? "r-" : "w-";
    }

    void enter(String node) throws Exception {
        String name = kind + UUID.randomUUID();
        own = path + "-inside/" + name;
        zookeeper.create(own, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
        List<String> inside = zookeeper.getChildren(path + "-inside", false);
        for (String other : inside) {
            if (!other.equals(name) && (kind.equals("w-") || other.startsWith("w-"))) {
                throw new IllegalStateException(node + " is not alone: " + inside);
            }
        }
        Stat stat = zookeeper.exists(path + "/" + node, false);
        if (stat == null) {
            throw new IllegalStateException(node + " holds without a node");
        }
        byte[] record = (node + " " + stat.getCzxid()).getBytes(StandardCharsets.UTF_8);
        zookeeper.create(path + "-record/", record, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_SEQUENTIAL);
    }

    void leave() throws Exception {
        zookeeper.delete(own, -1);
    }
}
