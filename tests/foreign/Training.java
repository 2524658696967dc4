import java.io.BufferedReader;
import java.io.PrintStream;
import java.io.StringReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A server and clients at work, so that the archive of loaded classes, which later JVMs map instead of loading them, has theirs. */
final class Training {
    /** What only a member of an ensemble and AdminServer load. */
    private static final List<String> ALSO = List.of(
            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
            "org.apache.zookeeper.server.quorum.QuorumPeer",
            "org.apache.zookeeper.server.quorum.FastLeaderElection",
            "org.apache.zookeeper.server.quorum.QuorumCnxManager",
            "org.apache.zookeeper.server.quorum.Leader",
            "org.apache.zookeeper.server.quorum.LearnerHandler",
            "org.apache.zookeeper.server.quorum.Follower",
            "org.apache.zookeeper.server.quorum.LeaderZooKeeperServer",
            "org.apache.zookeeper.server.quorum.FollowerZooKeeperServer",
            "org.apache.zookeeper.server.admin.JettyAdminServer",
            "org.apache.zookeeper.server.NettyServerCnxnFactory");

    private Training() {}

    static void run(Path folder) throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        Files.writeString(folder.resolve("zoo.cfg"), String.join("\n",
                "tickTime=200", "dataDir=" + folder.resolve("data"), "clientPort=" + port, "clientPortAddress=127.0.0.1",
                "metricsProvider.className=" + GroupedFigures.class.getName(), ""));
        HostedServer server = new HostedServer(folder);
        String failure = server.start();
        if (failure != null) {
            throw new IllegalStateException(failure);
        }
        StringBuilder commands = new StringBuilder("connect a 5000\n");
        for (String recipe : List.of("mutex", "write", "semaphore", "latch", "write-lock")) {
            commands.append("start a ").append(recipe).append(' ').append(recipe).append(" /").append(recipe).append('\n')
                    .append("wait ").append(recipe).append('\n')
                    .append("release ").append(recipe).append('\n');
        }
        new ForeignClient("127.0.0.1:" + port)
                .answerAll(new BufferedReader(new StringReader(commands + "quit\n")), new PrintStream(System.out, true));
        server.stop();
        for (String name : ALSO) {
            Class.forName(name);
        }
    }
}
