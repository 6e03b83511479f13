import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { MANAGEMENT_PERMISSIONS } from '#operator/kubernetes/rbac/management-permissions';
import { OPERATOR_PERMISSIONS, type Permission } from '#operator/kubernetes/rbac/rbac';
import { renderRoles } from '#operator/kubernetes/rbac/render-roles';
import { USER_ROLES } from '#operator/kubernetes/rbac/user-roles';

const root = join(import.meta.dirname, '../../..');
const files = renderRoles();

describe('renderRoles', () => {
  it.each([...files.keys()])('returns the committed file: %s', (path) => {
    expect(readFileSync(join(root, path), 'utf8')).toBe(files.get(path));
  });

  it('grants no wildcard and no right to extend itself, for both programs', () => {
    for (const { resources = [], verbs, group } of [...OPERATOR_PERMISSIONS, ...MANAGEMENT_PERMISSIONS]) {
      expect([group, ...resources, ...verbs]).not.toContain('*');
      for (const verb of ['escalate', 'bind', 'impersonate', 'deletecollection']) expect(verbs).not.toContain(verb);
    }
  });

  it('lets neither program run commands inside pods', () => {
    const all = [...OPERATOR_PERMISSIONS, ...MANAGEMENT_PERMISSIONS];
    const resources = all.flatMap((permission) => permission.resources ?? []);
    for (const resource of ['pods/exec', 'pods/portforward', 'pods/ephemeralcontainers', 'serviceaccounts/token']) {
      expect(resources).not.toContain(resource);
    }
    const attach = all.filter((permission) => permission.resources?.includes('pods/attach'));
    expect(attach.map(({ when }) => when)).toEqual(['stdio.attach']);
  });

  it("lets the management API write users' resources, and not the operator", () => {
    const verbsOf = (permissions: readonly Permission[]) =>
      permissions.filter(({ resources }) => resources?.includes('mcpservers')).map(({ verbs }) => verbs);
    expect(verbsOf(OPERATOR_PERMISSIONS)).toEqual([['get', 'list', 'watch']]);
    expect(verbsOf(MANAGEMENT_PERMISSIONS)).toEqual([['get', 'list', 'create', 'update', 'patch', 'delete']]);
  });

  it('gives users the rights to records without the management API, too, as an admission policy checks them', () => {
    const kept = USER_ROLES.flatMap(({ rules }) => rules.filter(({ resources }) => resources?.includes('registries')));
    expect(kept.map(({ verbs, when }) => [verbs, when])).toEqual([
      [['get', 'list'], undefined],
      [['create', 'update', 'delete'], undefined],
    ]);
  });

  it('lets view read, and edit write, use, and read what view hides', () => {
    const rulesOf = (rules: (typeof USER_ROLES)[number]['rules']) =>
      rules.filter(({ resources }) => !resources?.includes('secretproviders'));
    const verbs = Object.fromEntries(
      USER_ROLES.map(({ name, rules }) => [name, [...new Set(rulesOf(rules).flatMap((rule) => rule.verbs))]]),
    );
    expect(verbs).toEqual({
      view: ['get', 'list', 'watch'],
      edit: ['create', 'update', 'patch', 'delete', 'deletecollection', 'use'],
    });
  });
});
