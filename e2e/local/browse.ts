// The program in BROWSER for tests: `node browse.ts <user> <url>` logs in as that user.
import { Robot } from '../robot/robot.ts';

const [user = '', url = ''] = process.argv.slice(2);
await new Robot().walk(url, { user });
