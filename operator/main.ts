#!/usr/bin/env node
import { hostname } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { readFlags } from '#operator/kubernetes/program/flags';
import { runOperator } from '#operator/kubernetes/program/run-operator';
import { runProgram } from '#operator/kubernetes/program/run-program';

// Thousands of cached resources make the heap large, and by default V8 lets it grow by as much garbage.
setFlagsFromString('--heap-growing-percent=20');

const { POD_NAME: host = hostname(), POD_NAMESPACE: podNamespace } = process.env;
await runProgram({
  entry: import.meta.url,
  readFlags,
  run: (flags, deps) => runOperator(flags, { ...deps, host, podNamespace }),
  failure: 'the operator cannot run',
});
