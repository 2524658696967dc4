import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.HashMap;
import java.util.Map;

/**
 * Real lock libraries for the JVM, driven line by line: a command on standard input, one line of answer on standard
 * output. Ends when its input ends, whatever its threads do.
 *
 * <pre>
 * connect CLIENT TIMEOUT_MS              connected SESSION        a session of its own, by its name
 * start CLIENT ID RECIPE PATH [LEASES]   ok                       contend in the background
 * wait ID                                held NODE                when it holds (NODE is - where the library hides it)
 *                                        done COUNT MILLISECONDS  when a churn has ended
 * holds ID                               yes | no                 by the library's own account
 * order ID                               order A,B,...            the queue as the library sees it
 * release ID                             released
 * abandon ID                             left                     stop waiting
 * churn ID RECIPE PATH THREADS ROUNDS    ok                       contend in a loop, a session for each thread;
 *                              [checked]                          checks and writes down who holds: see Inside.java
 * close CLIENT                           closed                   end the session cleanly
 * quit                                   bye
 * </pre>
 *
 * What fails is answered with "error" and the reason.
 */
public final class ForeignClient {
    private final String servers;
    private final Map<String, Session> sessions = new HashMap<>();
    private final Map<String, Contender> contenders = new HashMap<>();
    private final Map<String, Churn> churns = new HashMap<>();

    ForeignClient(String servers) {
        this.servers = servers;
    }

    public static void main(String[] arguments) throws IOException {
        new ForeignClient(arguments[0]).answerAll(new BufferedReader(new InputStreamReader(System.in)), System.out);
        Runtime.getRuntime().halt(0);
    }

    /** Answers each line of the input, until its end or until "quit". */
    void answerAll(BufferedReader input, PrintStream output) throws IOException {
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String answer;
            try {
                answer = answer(line.trim().split(" +"));
            } catch (Exception failure) {
                failure.printStackTrace();
                answer = "error " + failure.toString().replace('\n', ' ');
            }
            output.println(answer);
            output.flush();
            if (answer.equals("bye")) {
                break;
            }
        }
    }

    /** Ends everything without a word to the servers, as the end of the process does. */
    void abort() {
        sessions.values().forEach(Session::abort);
        churns.values().forEach(Churn::abort);
        contenders.values().forEach(Contender::interrupt);
        sessions.values().forEach(Session::close);
    }

    private String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "connect":
                Session session = new Session(servers, Integer.parseInt(words[2]));
                sessions.put(words[1], session);
                return "connected " + session.id();
            case "start":
                int leases = words.length > 5 ? Integer.parseInt(words[5]) : 1;
                Recipe recipe = named(sessions, words[1]).recipe(words[3], words[4], words[2], leases);
                contenders.put(words[2], Contender.start(recipe));
                return "ok";
            case "wait":
                Churn churn = churns.get(words[1]);
                return churn != null ? "done " + churn.join() : "held " + named(contenders, words[1]).awaitHeld();
            case "holds":
                return named(contenders, words[1]).recipe().holds() ? "yes" : "no";
            case "order":
                return "order " + String.join(",", named(contenders, words[1]).recipe().order());
            case "release":
                named(contenders, words[1]).release();
                return "released";
            case "abandon":
                named(contenders, words[1]).abandon();
                return "left";
            case "churn":
                boolean checked = words.length > 6 && words[6].equals("checked");
                int threads = Integer.parseInt(words[4]);
                int rounds = Integer.parseInt(words[5]);
                churns.put(words[1], Churn.start(servers, words[2], words[3], threads, rounds, checked));
                return "ok";
            case "close":
                named(sessions, words[1]).close();
                return "closed";
            case "quit":
                for (Session open : sessions.values()) {
                    open.close();
                }
                return "bye";
            default:
                throw new IllegalArgumentException("no such command: " + words[0]);
        }
    }

    private static <T> T named(Map<String, T> things, String name) {
        T thing = things.get(name);
        if (thing == null) {
            throw new IllegalArgumentException("nothing is named " + name);
        }
        return thing;
    }
}
