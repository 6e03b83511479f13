import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from '@jest/globals';
import { fileRecords } from '../stores/file-records.ts';
import { clusterSkillsContract } from './contract/cluster-skills.contract.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

clusterSkillsContract('files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-cluster-skills-'));
  folders.push(folder);
  return Promise.resolve(fileRecords(folder, 'default'));
});
