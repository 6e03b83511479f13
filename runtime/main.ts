import { parseArgs } from 'node:util';
import { proxyOf } from '#lib/connections/proxy';
import { cpuTimeOfProcess, giveBackWhenIdle } from '#lib/memory/give-back-memory';
import { ConfigError } from '#runtime/errors';
import { followRunConfig } from '#runtime/follow-run-config';
import { startRuntime } from '#runtime/process';
import { createLog } from '#runtime/telemetry/create-log';

const VERSION = '0.1.0';
/** Milliseconds. */
const IDLE_PERIOD = 60_000;
const USAGE = 'usage: runtime --config <file> [--allowed-digests <folder>] [--drain <seconds>]\n';

const { values } = parseArgs({
  options: {
    config: { type: 'string' },
    'allowed-digests': { type: 'string' },
    drain: { type: 'string', default: '4' },
  },
});
if (values.config === undefined) {
  process.stderr.write(USAGE);
  process.exit(2);
}

const log = createLog('info', process.stderr);

try {
  const followed = await followRunConfig({
    file: values.config,
    allowedDigests: values['allowed-digests'],
    log,
    now: Date.now,
  });
  log.setLevel(followed.current.config.operational.log_level);
  const started = startRuntime({
    followed,
    log,
    environment: process.env,
    auditStream: process.stdout,
    version: VERSION,
    proxy: proxyOf(process.env),
    drain: Number(values.drain) * 1_000,
  });
  const stop = async () => {
    try {
      await (await started).stop();
      process.exit(0);
    } catch (error) {
      log.error('stopping failed', { error });
      process.exit(1);
    }
  };
  // Before readiness: a ready process may receive the signal at once and must still answer its clients.
  process.on('SIGTERM', () => void stop());
  process.on('SIGINT', () => void stop());
  const runtime = await started;
  process.on('SIGHUP', () => runtime.reopenLogs());
  if (globalThis.gc) giveBackWhenIdle({ period: IDLE_PERIOD, cpuTime: cpuTimeOfProcess, gc: globalThis.gc });
  log.info('ready', { host: runtime.address.host, port: runtime.address.port });
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
