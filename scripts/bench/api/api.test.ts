import { test } from 'node:test'
import { runShort } from '../run-short.ts'
import { runDownloads } from './downloads.ts'
import { runRequests } from './requests.ts'

for (const [name, run] of Object.entries({ requests: runRequests, downloads: runDownloads })) {
  test(`a short run of ${name} yields figures, without lost or rejected requests`, async (t) => {
    await runShort(t, run)
  })
}
