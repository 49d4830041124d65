import { get, type IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import { type DownloadResult, downloadSchema } from './download-plan.ts'

/** The process of somebody who downloads: what on stdin, how it went on stdout, ends when its parent does. */

async function download(line: string): Promise<DownloadResult> {
  const { port, path, key } = downloadSchema.parse(JSON.parse(line))
  const startMs = performance.now()
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ port, path, host: '127.0.0.1', agent: false, headers: { 'X-API-Key': key } }, resolve).on(
      'error',
      reject,
    )
  })
  let bytes = 0
  // a response that breaks off makes the loop throw
  for await (const chunk of response) bytes += chunk.length
  return { status: response.statusCode ?? 0, bytes, durationS: (performance.now() - startMs) / 1000 }
}

const lines = createInterface({ input: process.stdin })
lines.on('close', () => process.exit(0))
lines.on('line', (line) => {
  download(line).then(
    (result) => process.stdout.write(`${JSON.stringify(result)}\n`),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
      process.exit(1)
    },
  )
})
