// What BROWSER names in tests: `node browse.ts <user> <url>` logs in as that user, as a person would.
import { Robot } from '../robot/robot.ts';

const [user = '', url = ''] = process.argv.slice(2);
await new Robot().walk(url, { user });
