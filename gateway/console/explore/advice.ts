/** What somebody can do about a call that was refused or failed; undefined where the Detail says all there is. */
export function adviceFor(status: number, withToken: boolean): string | undefined {
  switch (status) {
    case 400:
      return "The Detail names the field. Correct it in the form and send again.";
    case 401:
      return withToken
        ? "No rule grants this call to your account. An administrator can see why under Rules → Explain."
        : "Nobody may call this without a token. Sign in and send again.";
    case 403:
      return "A rule denies this call to your account. An administrator can see which one under Rules → Explain.";
    case 429:
      return "Too many calls came at once. Wait a moment and send again.";
    case 502:
      return "The service answered with something that is no answer. Whoever runs it finds the request id in its log.";
    case 503:
      return "The service cannot be reached now. Try again in a moment.";
    case 504:
      return "The service took too long. Whoever runs it finds the request id in its log.";
  }
  return status >= 500 ? "Whoever runs the service finds the request id in its log." : undefined;
}
