import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { InstalledSkill } from '../records/skill.ts';
import { openSkillsPlace, skillText, type SkillsPlace } from '../skills/testdata/skills-place.ts';

let place: SkillsPlace;
beforeEach(async () => {
  place = await openSkillsPlace();
});
afterEach(() => place.close());

describe('a skill from a folder', () => {
  it('is installed for the user, listed, told and uninstalled', async () => {
    const more = 'metadata: { version: "1.2", author: Ann, tags: [a, b] }\n';
    const folder = place.write('notes', { 'SKILL.md': skillText('notes', more), 'scripts/run.sh': '#!/bin/sh\n' });
    const { status, body } = await place.install({ name: folder });
    expect([status, body]).toEqual([201, { skill: expect.anything() }]);
    const skill = InstalledSkill.parse(body.skill);
    const metadata = { name: 'notes', description: 'Does notes.', version: '1.2', author: 'Ann', tags: ['a', 'b'] };
    expect(skill).toMatchObject({ metadata, scope: 'user', reference: folder, status: 'installed', dependencies: [] });
    expect(skill.clients).toEqual(['claude-code']);
    expect(skill.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(Date.now() - Date.parse(skill.installed_at)).toBeLessThan(60_000);
    expect(place.installed()).toEqual(['.claude/skills/notes/SKILL.md', '.claude/skills/notes/scripts/run.sh']);
    expect((await place.ask('GET', '/skills')).body).toEqual({ skills: [skill] });
    expect((await place.ask('GET', '/skills/notes')).body).toEqual({ installed_skill: skill, metadata });
    expect((await place.ask('DELETE', '/skills/notes')).status).toBe(204);
    expect(place.installed()).toEqual([]);
    expect((await place.ask('GET', '/skills')).body).toEqual({ skills: [] });
    expect(existsSync(join(folder, 'SKILL.md'))).toBe(true);
  });
});
