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
const ignore = () => undefined;

class DirectConnector extends StandaloneConnector {
  // ioredis passes its options untyped.
  constructor(options: unknown);
  constructor(options: StandaloneConnectionOptions) {
    super({ ...options });
  }

  override async connect(emit: Emitter) {
    const stream = await super.connect(emit);
    return stream.on('error', ignore);
  }
}

class ConnectorBySentinels extends SentinelConnector {
  constructor(options: unknown);
  constructor(options: SentinelConnectionOptions) {
    super(options);
    // This private method creates the clients of the Sentinels, and ioredis has no option for their connector.
    const open: unknown = Reflect.get(this, 'connectToSentinel');
    if (typeof open !== 'function') throw new Error('connections to Sentinels cannot be guarded');
    Reflect.set(this, 'connectToSentinel', (endpoint: unknown, more?: object) => {
      const client: unknown = Reflect.apply(open, this, [endpoint, { ...more, Connector: DirectConnector }]);
      return client;
    });
  }

  override async connect(emit: Emitter) {
    const stream = await super.connect(emit);
    return stream.on('error', ignore);
  }
}

/** Returns the connector to one Redis, or to the master that Sentinels name. Socket errors never end the process. */
export const redisConnector = (bySentinels: boolean): Connector =>
  bySentinels ? ConnectorBySentinels : DirectConnector;
