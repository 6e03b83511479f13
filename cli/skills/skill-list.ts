import type { InstalledSkill } from '#management/records/skill';
import type { Listing } from '../print-records.ts';

export const SKILLS: Listing<InstalledSkill> = {
  columns: ['NAME', 'STATUS', 'SCOPE', 'CLIENTS', 'FROM', 'DESCRIPTION'],
  row: ({ metadata, status, scope, project_root: project, clients, reference }) => [
    metadata.name,
    status,
    project === undefined ? scope : `${scope} ${project}`,
    clients.join(', '),
    reference,
    cut(metadata.description),
  ],
  name: ({ metadata }) => metadata.name,
  id: ({ metadata, scope, project_root: project = '' }) => `${metadata.name} ${scope} ${project}`,
  none: (typed) => `no skill is installed: ${typed('skill install <reference>')} installs one`,
};

const LONGEST = 60;
const cut = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
