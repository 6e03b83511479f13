import type { Page } from '../robot/page.ts';
import type { Person } from '../robot/person.ts';
import { Robot } from '../robot/robot.ts';

const signOut = ({ forms }: Page) => forms.find(({ fields }) => fields.some(({ value }) => value === 'sign-out'));

/** Signs out by the connections page, with its confirmation. In a browser without a login, the person signs in first. */
export async function signOutEverywhere(origin: string, person: Person, robot = new Robot()): Promise<void> {
  let page = await robot.walk(`${origin}/connections`, person, { at: (one) => signOut(one) !== undefined });
  for (let asked = 0; asked < 2; asked += 1) {
    const form = signOut(page);
    if (form === undefined) throw new Error(`no way to sign out: ${page.text}`);
    page = await robot.submit(page, { form });
  }
  if (page.status !== 200) throw new Error(`signing out: ${page.status}`);
}
