import { z } from 'zod'

const fieldErrorSchema = z
  .object({
    in: z.enum(['query', 'body', 'path', 'header']),
    name: z
      .string()
      .meta({ description: 'The parameter, or where in the body.', example: 'features[3].properties.type' }),
    code: z.string().meta({ description: 'Stable, snake_case.', example: 'invalid_number' }),
    detail: z.string().meta({ description: 'For people.', example: 'must be a whole number from 1 to 1000' }),
  })
  .meta({ id: 'FieldError' })

const lineErrorSchema = z
  .object({
    line: z.number().int().meta({ description: 'The line of the file it begins in; the first is 1.', example: 17 }),
    code: z.string().meta({ description: 'Stable, snake_case.', example: 'unknown_group' }),
    message: z.string().meta({ description: 'For people.', example: 'there is no group North' }),
  })
  .meta({ id: 'LineError' })

/** The body of every error: RFC 9457 problem details, plus `code`, `request_id`, `errors` and `error` (= `detail`). */
export const problemSchema = z
  .object({
    type: z.string().meta({ description: 'Always about:blank: code says which error it is.', example: 'about:blank' }),
    title: z.string().meta({ description: 'The name of the status.', example: 'Bad Request' }),
    status: z.number().int().meta({ description: 'The status of the answer.', example: 400 }),
    detail: z.string().meta({
      description: 'What is wrong, for people.',
      example: 'limit: must be a whole number from 1 to 1000',
    }),
    code: z.string().meta({
      description: 'Which error it is, for programs: stable, snake_case. /docs lists them all.',
      example: 'invalid_number',
    }),
    error: z.string().meta({
      description: 'The same text as detail.',
      example: 'limit: must be a whole number from 1 to 1000',
    }),
    request_id: z.string().meta({
      description: 'X-Request-Id of the answer; the log of the gateway has it.',
      example: '0b9b3a4e-6a1c-4d1a-9d3f-2f6f1f1f6a11',
    }),
    errors: z
      .union([z.array(fieldErrorSchema), z.array(lineErrorSchema)])
      .optional()
      .meta({
        description:
          'Everything that is wrong: with fields and parameters, up to 100; with lines of a file, up to 1,000.',
      }),
  })
  .meta({ id: 'Problem' })

export type Problem = z.infer<typeof problemSchema>
