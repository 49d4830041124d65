import { shellTexts } from '#dashboard/texts/shell.ts'

export function MoreScreen() {
  return (
    <div class="page">
      <h1>{shellTexts().more}</h1>
    </div>
  )
}
