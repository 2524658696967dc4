import java.io.File;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;

/**
 * Creates a node in the files of a stopped server, as if only that server had it. The arguments are the server's data
 * folder and the node's path.
 */
public class PutNode {
    public static void main(String[] arguments) throws Exception {
        File folder = new File(arguments[0]);
        FileTxnSnapLog files = new FileTxnSnapLog(folder, folder);
        DataTree tree = new DataTree();
        ConcurrentHashMap<Long, Integer> sessions = new ConcurrentHashMap<>();
        long last = files.restore(tree, sessions, (header, record, digest) -> { });
        tree.createNode(arguments[1], new byte[0], Ids.OPEN_ACL_UNSAFE, 0, -1, last, System.currentTimeMillis());
        tree.lastProcessedZxid = last;
        files.save(tree, sessions, true);
        files.close();
        System.out.println("put " + Long.toHexString(last));
    }
}
