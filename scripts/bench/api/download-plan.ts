import { z } from 'zod'

/** One download, as a JSON line on the client's stdin. */
export const downloadSchema = z.object({ port: z.number(), path: z.string(), key: z.string() })

/** One download. */
export type Download = z.infer<typeof downloadSchema>

/** How a download went, as a JSON line on the client's stdout. */
export const downloadResultSchema = z.object({
  status: z.number(),
  bytes: z.number(),
  durationS: z.number(),
})

/** How a download went. */
export type DownloadResult = z.infer<typeof downloadResultSchema>
