#!/usr/bin/env node
import { runProgram } from '#operator/kubernetes/program/run-program';
import { readFlags } from './program/flags.ts';
import { runManagement } from './program/run-management.ts';

const { env } = process;
await runProgram({
  entry: import.meta.url,
  readFlags,
  async run(flags, deps) {
    await runManagement(flags, { ...deps, audit: process.stdout, environment: env, podNamespace: env.POD_NAMESPACE });
    return 0;
  },
  failure: 'the management API cannot run',
});
