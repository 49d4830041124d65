import type { Benchmark } from '../benchmark.ts'
import { runCounts } from './counts.ts'
import { runDownloads } from './downloads.ts'
import { runRequests } from './requests.ts'

export const api: Benchmark = {
  name: 'api',
  summary: 'HTTP: requests a second, counts and downloads of a long history',
  rounds: 'runs of each kind, alternating',
  scenarios: [
    {
      name: 'requests',
      summary: 'two reads with 500 devices, compared with a bare Hono server with the same responses',
      run: runRequests,
    },
    { name: 'counts', summary: 'statistics over ten million records, one request after the other', run: runCounts },
    {
      name: 'downloads',
      summary: 'a whole history in each format: memory, and 200 devices meanwhile',
      run: runDownloads,
    },
  ],
}
