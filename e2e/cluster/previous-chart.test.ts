import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { findPreviousChart } from './previous-chart.ts';

const FIXTURE = '/fixture';
let folder: string;
let repository: string;
const git = (...args: string[]) =>
  execFileSync('git', ['-C', repository, '-c', 'user.name=a', '-c', 'user.email=a@b.example', ...args], {
    stdio: 'ignore',
  });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'previous-chart-'));
  repository = join(folder, 'repository');
  mkdirSync(repository);
  git('init', '-q', '-b', 'main');
  commitChart('0.0.1');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function commitChart(version: string): void {
  mkdirSync(join(repository, 'charts/vmcp'), { recursive: true });
  writeFileSync(join(repository, 'charts/vmcp/Chart.yaml'), `version: ${version}\n`);
  git('add', '.');
  git('commit', '-q', '-m', version);
}

const found = () => findPreviousChart(repository, join(folder, 'charts'), FIXTURE);
const versionIn = (chart: string) => readFileSync(join(chart, 'Chart.yaml'), 'utf8');

it('findPreviousChart takes the chart of the last tagged version', () => {
  for (const version of ['0.9.0', '0.10.0']) {
    commitChart(version);
    git('tag', `v${version}`);
  }
  commitChart('0.11.0');
  expect(versionIn(found())).toBe('version: 0.10.0\n');
});

it('findPreviousChart skips a tag of the same commit, and of another branch', () => {
  commitChart('0.1.0');
  git('tag', 'v0.1.0');
  git('checkout', '-q', '-b', 'other');
  commitChart('0.3.0');
  git('tag', 'v0.3.0');
  git('checkout', '-q', 'main');
  commitChart('0.2.0');
  git('tag', 'v0.2.0');
  expect(versionIn(found())).toBe('version: 0.1.0\n');
});

it('findPreviousChart takes the fixture without a tagged version, or without a repository', () => {
  git('tag', 'nightly');
  expect(found()).toBe(FIXTURE);
  rmSync(join(repository, '.git'), { recursive: true });
  expect(found()).toBe(FIXTURE);
});
