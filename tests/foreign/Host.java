import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.util.ServiceUtils;

/**
 * One JVM for the servers and the clients of many tests: a JVM of its own for each costs more than the tests themselves.
 *
 * <p>It listens on a Unix socket. Each connection leases one thing, which ends with the connection, however that ends:
 *
 * <pre>
 * server FOLDER      ready           then: start (started | error WHY), stop (stopped); at the end FOLDER is deleted
 * client SERVERS     ready           then the commands of ForeignClient; at the end its sessions are left to expire
 * </pre>
 *
 * <p>It ends when nobody has had a connection for a while.
 */
public final class Host {
    private static final int IDLE_SECONDS = 15;

    private final AtomicInteger connections = new AtomicInteger();
    private volatile long idleSince = System.nanoTime();

    private Host() {}

    public static void main(String[] arguments) throws Exception {
        // A server that gives up must not end the others.
        ServiceUtils.setSystemExitProcedure(ServiceUtils.LOG_ONLY);
        if (arguments[0].equals("--train")) {
            Training.run(Path.of(arguments[1]));
            System.exit(0);
        }
        Host host = new Host();
        ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        listener.bind(UnixDomainSocketAddress.of(arguments[0]), 256);
        Thread watchdog = new Thread(host::endWhenIdle);
        watchdog.setDaemon(true);
        watchdog.start();
        while (true) {
            SocketChannel connection = listener.accept();
            host.connections.incrementAndGet();
            new Thread(() -> host.serve(connection)).start();
        }
    }

    /** Whoever connects in this very moment finds the connection closed, and starts another host. */
    private void endWhenIdle() {
        while (connections.get() > 0 || System.nanoTime() - idleSince < TimeUnit.SECONDS.toNanos(IDLE_SECONDS)) {
            try {
                Thread.sleep(500);
            } catch (InterruptedException e) {
                return;
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private void serve(SocketChannel connection) {
        try (connection) {
            BufferedReader input = new BufferedReader(
                    new InputStreamReader(Channels.newInputStream(connection), StandardCharsets.UTF_8));
            PrintStream output = new PrintStream(Channels.newOutputStream(connection), true, StandardCharsets.UTF_8);
            String[] words = String.valueOf(input.readLine()).split(" ", 2);
            switch (words[0]) {
                case "server":
                    output.println("ready");
                    serveServer(Path.of(words[1]), input, output);
                    break;
                case "client":
                    output.println("ready");
                    serveClient(words[1], input, output);
                    break;
                default:
                    output.println("error no such lease: " + words[0]);
            }
        } catch (IOException gone) {
            // The test has ended.
        } finally {
            idleSince = System.nanoTime();
            connections.decrementAndGet();
        }
    }

    private static void serveServer(Path folder, BufferedReader input, PrintStream output) throws IOException {
        HostedServer server = new HostedServer(folder);
        try {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                if (line.equals("start")) {
                    String failure = server.start();
                    output.println(failure == null ? "started" : "error " + failure);
                } else {
                    server.stop();
                    output.println("stopped");
                }
            }
        } finally {
            server.stop();
            deleteAll(folder);
        }
    }

    private static void serveClient(String servers, BufferedReader input, PrintStream output) {
        ForeignClient client = new ForeignClient(servers);
        try {
            client.answerAll(input, output);
        } catch (IOException gone) {
            // As at the end of the input.
        } finally {
            client.abort();
        }
    }

    private static void deleteAll(Path folder) {
        try (var paths = Files.walk(folder)) {
            paths.sorted(java.util.Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        } catch (IOException gone) {
            // The test has removed it.
        }
    }
}
