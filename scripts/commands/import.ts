// npm run import -- --device ID FILE…: tracks of files into the history of a device. See --help.

import { processIo } from '#scripts/cli/command.ts'
import { runImport } from './import/run-import.ts'

// an open handle of a request that was given up must not keep the process
process.exit(await runImport(process.argv.slice(2), processIo()))
