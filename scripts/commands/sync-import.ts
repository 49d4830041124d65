// npm run sync:import: a file that a gateway wrote for its head office into the hub. See --help.

import { processIo } from '#scripts/cli/command.ts'
import { runSyncImport } from './sync-file/run-import.ts'

process.exitCode = await runSyncImport(process.argv.slice(2), processIo())
