package org.apache.zookeeper;

/** Ends a client as the end of its process does: the connection closes, and the session lives on until it expires. */
public final class Disconnect {
    private Disconnect() {}

    public static void client(ZooKeeper client) {
        client.cnxn.disconnect();
    }
}
