/**
 * What a column of JSON is for operators that look into it. JSON may have U+0000 and halves of characters, which jsonb
 * refuses for the whole statement: here they are replaced, the column stays as it came.
 */
export const JSON_BODY = `CAST(REPLACE(REPLACE(body, '\\u0000', '\\ufffd'), '\\ud', '\\ue') AS jsonb)`
