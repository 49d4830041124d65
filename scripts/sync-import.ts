// npm run sync:import: a file that a gateway wrote for its head office into the hub. See --help.
import { runSyncImport } from './sync-file/run-import.ts'
import { processIo } from './tracks/command.ts'

process.exitCode = await runSyncImport(process.argv.slice(2), processIo())
