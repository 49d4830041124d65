import { get, type IncomingMessage } from 'node:http'
import { answerCalls } from '../calls.ts'

/** Process of a client that downloads. */

/** GET with a long response. */
export interface Download {
  port: number
  path: string
  key: string
}

export interface DownloadResult {
  bytes: number
  durationS: number
}

/** Throws if it is cut off or not answered with 200. */
async function download({ port, path, key }: Download): Promise<DownloadResult> {
  const startMs = performance.now()
  const options = { port, path, host: '127.0.0.1', agent: false, headers: { 'X-API-Key': key } }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(options, resolve).on('error', reject)
  })
  if (response.statusCode !== 200) throw new Error(`GET ${path}: ${response.statusCode}`)
  let bytes = 0
  // a response that is cut off makes the loop throw
  for await (const chunk of response) bytes += chunk.length
  return { bytes, durationS: (performance.now() - startMs) / 1000 }
}

const functions = answerCalls({ download })

export type DownloadFunctions = typeof functions
