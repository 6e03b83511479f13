// For `node --import`: server-everything has no setting for the host, and node would let it listen on all interfaces. In a pod, where
// it has to, HOST says so.
import { listenOnHost } from './listen-on-host.ts';

listenOnHost(process.env.HOST ?? '127.0.0.1');

// The first process of a container is not ended by a signal that it does not listen to: its pod would stay for half a minute.
process.once('SIGTERM', () => process.exit(0));
