import { describe, expect, it } from '@jest/globals';
import { atOnce, link, linkOf, type Opened } from './opened.contract.ts';

export function linksContract(storage: () => Opened): void {
  describe('link', () => {
    it('accepts the last reader’s replacement and increases its version', async () => {
      const { one, two } = storage();
      await link(one, 'ann', { git: linkOf('ann1') });
      const renewed = linkOf('ann1', { sealed: 'k2.iv.new', expires_at: 5, state: 'needs_login', version: 1 });
      expect(await one.replaceLink('ann', 'git', 1, renewed)).toBe(true);
      expect(await two.getLink('ann', 'git')).toEqual({ ...renewed, version: 2 });
      expect(await two.replaceLink('ann', 'git', 1, linkOf('ann1'))).toBe(false);
      expect(await two.getLink('ann', 'git')).toEqual({ ...renewed, version: 2 });
    });

    it('accepts one of ten concurrent replacements', async () => {
      const { one } = storage();
      await link(one, 'ann', { git: linkOf('ann1') });
      const replaced = await atOnce(storage(), 10, (each) => each.replaceLink('ann', 'git', 1, linkOf('ann1')));
      expect(replaced.filter(Boolean)).toHaveLength(1);
      expect(await one.getLink('ann', 'git')).toMatchObject({ version: 2 });
    });

    it('rejects a replacement when it does not exist', async () => {
      const { one } = storage();
      expect(await one.replaceLink('ann', 'git', 1, linkOf('ann1'))).toBe(false);
      expect(await one.replaceLink('ann', 'git', 0, linkOf('ann1'))).toBe(false);
      expect(await one.linksOf('ann')).toEqual({});
    });

    it('stays removed, even for a late writer', async () => {
      const { one, two } = storage();
      await link(one, 'ann', { git: linkOf('ann1') });
      await two.unlink('ann', 'git');
      await two.unlink('ann', 'git');
      expect(await one.replaceLink('ann', 'git', 1, linkOf('ann1'))).toBe(false);
      expect(await one.linksOf('ann')).toEqual({});
      expect((await one.sizes()).links).toBe(0);
    });
  });
}
