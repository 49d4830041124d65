import { shellTexts } from '#dashboard/texts/shell.ts'

export function FleetScreen() {
  return (
    <div class="page">
      <h1>{shellTexts().fleet}</h1>
    </div>
  )
}
