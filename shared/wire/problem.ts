import { z } from 'zod'

/** The body of every error: RFC 9457 problem details, plus `code`, `request_id`, `errors` and `error` (= `detail`). */
export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  code: z.string().meta({ description: 'Stable, snake_case.' }),
  error: z.string().meta({ description: 'The same text as detail.' }),
  request_id: z.string(),
  errors: z
    .array(
      z.object({
        in: z.enum(['query', 'body', 'path', 'header']),
        name: z.string(),
        code: z.string(),
        detail: z.string(),
      }),
    )
    .optional(),
})

export type Problem = z.infer<typeof problemSchema>
