import { test } from 'node:test'
import { lookShortly } from '../short-look.ts'
import { runDownloads } from './downloads.ts'
import { runRequests } from './requests.ts'

for (const [name, run] of Object.entries({ requests: runRequests, downloads: runDownloads })) {
  test(`a short look at ${name} gives figures, and nothing is lost or refused`, async (t) => {
    await lookShortly(t, run)
  })
}
