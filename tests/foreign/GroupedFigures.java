import java.util.Properties;
import java.util.function.BiConsumer;
import org.apache.zookeeper.metrics.Counter;
import org.apache.zookeeper.metrics.CounterSet;
import org.apache.zookeeper.metrics.Gauge;
import org.apache.zookeeper.metrics.GaugeSet;
import org.apache.zookeeper.metrics.MetricsContext;
import org.apache.zookeeper.metrics.MetricsProvider;
import org.apache.zookeeper.metrics.Summary;
import org.apache.zookeeper.metrics.SummarySet;
import org.apache.zookeeper.metrics.impl.DefaultMetricsProvider;

/** The figures of mntr for each of several servers in one JVM: those of the server whose thread counts or asks. */
public final class GroupedFigures implements MetricsProvider {
    private static final MetricsProvider OF_NO_SERVER = new DefaultMetricsProvider();

    private static MetricsProvider own() {
        for (ThreadGroup group = Thread.currentThread().getThreadGroup(); group != null; group = group.getParent()) {
            if (group instanceof HostedServer.Group) {
                return ((HostedServer.Group) group).figures;
            }
        }
        return OF_NO_SERVER;
    }

    private static MetricsContext figures() {
        return own().getRootContext();
    }

    @Override
    public void configure(Properties properties) {}

    @Override
    public void start() {}

    @Override
    public void stop() {}

    @Override
    public void dump(BiConsumer<String, Object> sink) {
        own().dump(sink);
    }

    @Override
    public void resetAllValues() {
        own().resetAllValues();
    }

    @Override
    public MetricsContext getRootContext() {
        return new Context();
    }

    /** A server asks for all its figures when it starts: they are made then, so that they are told while they are 0. */
    private static final class Context implements MetricsContext {
        @Override
        public MetricsContext getContext(String name) {
            return this;
        }

        @Override
        public Counter getCounter(String name) {
            figures().getCounter(name);
            return new Counter() {
                @Override
                public void add(long delta) {
                    figures().getCounter(name).add(delta);
                }

                @Override
                public long get() {
                    return figures().getCounter(name).get();
                }
            };
        }

        @Override
        public CounterSet getCounterSet(String name) {
            figures().getCounterSet(name);
            return (key, delta) -> figures().getCounterSet(name).add(key, delta);
        }

        @Override
        public void registerGauge(String name, Gauge gauge) {
            figures().registerGauge(name, gauge);
        }

        @Override
        public void unregisterGauge(String name) {
            figures().unregisterGauge(name);
        }

        @Override
        public void registerGaugeSet(String name, GaugeSet gauge) {
            figures().registerGaugeSet(name, gauge);
        }

        @Override
        public void unregisterGaugeSet(String name) {
            figures().unregisterGaugeSet(name);
        }

        @Override
        public Summary getSummary(String name, DetailLevel detail) {
            figures().getSummary(name, detail);
            return value -> figures().getSummary(name, detail).add(value);
        }

        @Override
        public SummarySet getSummarySet(String name, DetailLevel detail) {
            figures().getSummarySet(name, detail);
            return (key, value) -> figures().getSummarySet(name, detail).add(key, value);
        }
    }
}
