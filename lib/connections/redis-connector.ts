import {
  type RedisOptions,
  type SentinelConnectionOptions,
  SentinelConnector,
  type StandaloneConnectionOptions,
} from 'ioredis';
import { StandaloneConnector } from 'ioredis/built/connectors/index.js';

type Connector = NonNullable<RedisOptions['Connector']>;
type Emitter = Parameters<StandaloneConnector['connect']>[0];

/** ioredis listens to the first error of a socket only. TLS may emit several, and an unhandled one ends the process. */
const hear = () => undefined;

class DirectConnector extends StandaloneConnector {
  // ioredis hands its options over untyped.
  constructor(options: unknown);
  constructor(options: StandaloneConnectionOptions) {
    super({ ...options });
  }

  override async connect(emit: Emitter) {
    const stream = await super.connect(emit);
    return stream.on('error', hear);
  }
}

class ConnectorBySentinels extends SentinelConnector {
  constructor(options: unknown);
  constructor(options: SentinelConnectionOptions) {
    super(options);
    // Clients of the Sentinels are made in there, and have no option of their own for it.
    const open: unknown = Reflect.get(this, 'connectToSentinel');
    if (typeof open !== 'function') throw new Error('connections to Sentinels cannot be guarded');
    Reflect.set(this, 'connectToSentinel', (endpoint: unknown, more?: object) => {
      const client: unknown = Reflect.apply(open, this, [endpoint, { ...more, Connector: DirectConnector }]);
      return client;
    });
  }

  override async connect(emit: Emitter) {
    const stream = await super.connect(emit);
    return stream.on('error', hear);
  }
}

/** Connects to the one Redis, or to the master that Sentinels name. No error of a socket, however many it has, ends the process. */
export const redisConnector = (bySentinels: boolean): Connector =>
  bySentinels ? ConnectorBySentinels : DirectConnector;
