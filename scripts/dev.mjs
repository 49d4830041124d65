// Loaded first by npm run dev, at each start: rebuilds the app if its sources changed.
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isMainThread } from 'node:worker_threads'
import { setUpDashboard } from './setup-dashboard.mjs'

// threads load it too
if (isMainThread) await setUpDashboard(dirname(dirname(fileURLToPath(import.meta.url))), process.execPath)
