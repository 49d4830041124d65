// Loaded first by npm run dev, at each start.
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isMainThread } from 'node:worker_threads'
import { setUpDashboard } from './setup-dashboard.mjs'

// Node's --watch has every thread report what it imports, as messages that our threads would take for their own; with
// --watch-path nobody needs these reports.
delete process.env.WATCH_REPORT_DEPENDENCIES

// threads load it too
if (isMainThread) await setUpDashboard(dirname(dirname(fileURLToPath(import.meta.url))), process.execPath)
