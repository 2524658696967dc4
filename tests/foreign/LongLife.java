import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Random;

/**
 * Clients that come, contend and go as long as the program runs; tests/long_life starts it and reads what it prints.
 *
 * <p>Arguments: the servers, the session timeout in milliseconds, a seed, a file, and one word for each client:
 * NAME=RECIPE=PATH=LEASES. While the file exists, nobody releases and nobody begins to wait. A line of a client is "record", the
 * time by the machine's monotonic clock in nanoseconds, its name, and what it does: "want", "held NODE TOKEN" (or "-" for the
 * token of what several may hold), "done" right before it releases, "unsure" when its connection is lost, "gone" when it gives
 * its session up.
 */
public final class LongLife implements Runnable {
    private static final int LONGEST_HOLD_MS = 400;
    private static final int LONGEST_PAUSE_MS = 2_000;
    private static final int LOOK_MS = 50;

    private final String servers;
    private final int timeoutMs;
    private final Path pause;
    private final Random random;
    private final String name;
    private final String recipe;
    private final String path;
    private final int leases;

    private LongLife(String[] arguments, String client) {
        String[] words = client.split("=");
        servers = arguments[0];
        timeoutMs = Integer.parseInt(arguments[1]);
        random = new Random(Long.parseLong(arguments[2]) ^ client.hashCode());
        pause = Paths.get(arguments[3]);
        name = words[0];
        recipe = words[1];
        path = words[2];
        leases = Integer.parseInt(words[3]);
    }

    public static void main(String[] arguments) {
        for (int i = 4; i < arguments.length; i++) {
            new Thread(new LongLife(arguments, arguments[i])).start();
        }
    }

    @Override
    public void run() {
        while (true) {
            try (Session session = new Session(servers, timeoutMs)) {
                session.onLoss(() -> say("unsure"));
                int turns = 3 + random.nextInt(20);
                for (int turn = 0; turn < turns; turn++) {
                    rest(LONGEST_PAUSE_MS);
                    turn(session);
                }
            } catch (Exception failure) {
                System.err.println(name + ": " + failure);
            }
            say("gone");
        }
    }

    private void turn(Session session) throws Exception {
        Recipe contender = session.recipe(recipe, path, name, leases);
        say("want");
        String node = contender.acquire();
        boolean shared = recipe.equals("read") || recipe.equals("semaphore");
        say("held " + node + " " + (shared ? "-" : session.token(path + "/" + node)));
        rest(LONGEST_HOLD_MS);
        say("done");
        contender.release();
    }

    /** Takes its time, and stays as long as the file is there. */
    private void rest(int longestMs) throws Exception {
        Thread.sleep(random.nextInt(longestMs));
        while (Files.exists(pause)) {
            Thread.sleep(LOOK_MS);
        }
    }

    private void say(String what) {
        System.out.println("record " + System.nanoTime() + " " + name + " " + what);
    }
}
