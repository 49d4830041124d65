import { z } from 'zod'

const fieldErrorSchema = z
  .object({
    in: z.enum(['query', 'body', 'path', 'header']),
    name: z
      .string()
      .meta({ description: 'Name of the parameter, or path within the body.', example: 'features[3].properties.type' }),
    code: z.string().meta({ description: 'Error code, stable, snake_case.', example: 'invalid_number' }),
    detail: z.string().meta({ description: 'Readable explanation.', example: 'must be a whole number from 1 to 1000' }),
  })
  .meta({ id: 'FieldError' })

const lineErrorSchema = z
  .object({
    line: z.number().int().meta({
      description: 'Line of the file in which the row begins; the first is 1.',
      example: 17,
    }),
    code: z.string().meta({ description: 'Error code, stable, snake_case.', example: 'unknown_group' }),
    message: z.string().meta({ description: 'Readable explanation.', example: 'there is no group North' }),
    column: z
      .string()
      .optional()
      .meta({ description: 'Column of the error; absent if it is not in a single one.', example: 'group' }),
    value: z.string().optional().meta({ description: 'Text found there, cut.', example: 'North' }),
  })
  .meta({ id: 'LineError' })

/** Body of every error: RFC 9457 problem details, plus `code`, `request_id`, `errors` and `error` (= `detail`). */
export const problemSchema = z
  .object({
    type: z.string().meta({
      description: 'Always about:blank: the error is identified by code.',
      example: 'about:blank',
    }),
    title: z.string().meta({ description: 'Name of the status.', example: 'Bad Request' }),
    status: z.number().int().meta({ description: 'Status of the response.', example: 400 }),
    detail: z.string().meta({
      description: 'Readable explanation of the error.',
      example: 'limit: must be a whole number from 1 to 1000',
    }),
    code: z.string().meta({
      description: 'Error code for programs: stable, snake_case. /docs lists all of them.',
      example: 'invalid_number',
    }),
    error: z.string().meta({
      description: 'Same text as detail.',
      example: 'limit: must be a whole number from 1 to 1000',
    }),
    request_id: z.string().meta({
      description: 'X-Request-Id of the response, which is also in the log of the gateway.',
      example: '0b9b3a4e-6a1c-4d1a-9d3f-2f6f1f1f6a11',
    }),
    errors: z
      .union([z.array(fieldErrorSchema), z.array(lineErrorSchema)])
      .optional()
      .meta({
        description: 'All errors: up to 100 for fields and parameters, up to 1,000 for lines of a file.',
      }),
  })
  .meta({ id: 'Problem' })

export type Problem = z.infer<typeof problemSchema>
