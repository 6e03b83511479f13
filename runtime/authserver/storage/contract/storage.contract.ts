import { afterEach, beforeEach, describe } from '@jest/globals';
import { assertionsContract } from './assertions.contract.ts';
import { linksContract } from './links.contract.ts';
import { loginsContract } from './logins.contract.ts';
import type { Opened } from './opened.contract.ts';
import { plainRowsContract } from './plain-rows.contract.ts';
import { rotationContract } from './rotation.contract.ts';
import { sessionsContract } from './sessions.contract.ts';

/** Tests the behaviour of every storage, with a new one for each test. */
export function storageContract(name: string, open: () => Opened | Promise<Opened>): void {
  describe(`storage in ${name}`, () => {
    let opened: Opened | undefined;
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(async () => {
      await opened?.close();
      opened = undefined;
    });
    const storage = () => {
      if (!opened) throw new Error('the storage is not open');
      return opened;
    };
    plainRowsContract(storage);
    loginsContract(storage);
    sessionsContract(storage);
    rotationContract(storage);
    linksContract(storage);
    assertionsContract(storage);
  });
}
