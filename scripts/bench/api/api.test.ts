import { test } from 'node:test'
import { lookShortly } from '../short-look.ts'
import { runDownloads } from './downloads.ts'
import { runRequests } from './requests.ts'

for (const [name, run] of Object.entries({ requests: runRequests, downloads: runDownloads })) {
  test(`a short run of ${name} yields figures, without lost or rejected requests`, async (t) => {
    await lookShortly(t, run)
  })
}
